"""Crops of pictures: faces, lettering and motion that a crop must show, and the path that it takes."""
