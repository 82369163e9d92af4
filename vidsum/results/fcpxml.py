"""FCPXML by OpenTimelineIO's adapter, at every rate and with the sound.

The adapter (1.0.0) writes no frame duration at 23.976, 29.97 and 59.94 Hz, misplaces sound there, and asks
ffprobe for the size of the picture. What is replaced here writes one `asset-clip` per clip, which has picture
and sound.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from otio_fcpx_xml_adapter.fcpx_xml import FcpxOtio, from_rational_time

from vidsum.results.media import Media


class Fcpxml(FcpxOtio):  # type: ignore[misc]
    """The document of a timeline whose clips have the rate of one video."""

    def __init__(self, timeline: Any, media: Media, channels: Mapping[str, int]) -> None:
        """`media` decides rate and size; `channels` are those of sound, by URL of a video."""
        self.media, self.channels = media, channels
        super().__init__(timeline)

    def _stack_to_sequence(self, stack: Any, compound_clip: bool = False) -> Element:
        sequence: Element = super()._stack_to_sequence(stack, compound_clip)
        sequence.set("tcStart", "0s")
        sequence.set("tcFormat", self._code_format())
        return sequence

    def _find_or_create_format_from(self, clip: Any) -> Element:
        found: Element | None = self.resource_element.find("format")
        if found is not None:
            return found
        return SubElement(
            self.resource_element,
            "format",
            id=self._resource_id_generator(),
            frameDuration=f"{1 / self.media.rate}s",
            width=str(self.media.width),
            height=str(self.media.height),
        )

    def _add_asset(self, clip: Any, compound_only: bool = False) -> str:
        asset: Element = self._create_asset_element(clip, self._find_or_create_format_from(clip))
        asset.set("hasVideo", "1")
        if n_channels := self.channels[clip.media_reference.target_url]:
            asset.set("hasAudio", "1")
            asset.set("audioSources", "1")
            asset.set("audioChannels", str(n_channels))
        return asset.attrib["id"]

    def _element_for_clip(self, item: Any, asset_id: str, duration: str, lane: int | None) -> Element:
        return Element(
            "asset-clip",
            ref=asset_id,
            name=item.name,
            offset=from_rational_time(item.trimmed_range_in_parent().start_time),
            start=from_rational_time(item.source_range.start_time),
            duration=duration,
            tcFormat=self._code_format(),
        )

    def _code_format(self) -> str:
        return "DF" if self.media.is_drop_frame else "NDF"

    @staticmethod
    def _framerate_to_frame_duration(framerate: float) -> str:
        return f"{1 / Fraction(framerate).limit_denominator(1001)}s"
