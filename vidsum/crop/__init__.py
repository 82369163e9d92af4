"""What a crop of a picture must show: faces, lettering, motion; and the path of the crop."""
