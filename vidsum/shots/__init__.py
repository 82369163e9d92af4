"""Cut a video into shots: kernel temporal segmentation, equal shots, or the cuts that TransNetV2 sees."""
