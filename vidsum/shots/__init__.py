"""Cut a video into shots: kernel temporal segmentation and cuts, or equal shots."""
