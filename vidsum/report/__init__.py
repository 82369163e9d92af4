"""The report page: results as one HTML file that a browser shows without a network."""
