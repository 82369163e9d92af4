"""The public function that finds moments: it only joins the parts, as `vidsum.pipeline` does for summaries."""
