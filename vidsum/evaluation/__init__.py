"""How good summaries are: rank correlation, F-measure and coverage, always beside annotators and chance."""

from vidsum.evaluation.report import Row, SummaryReport, evaluate_annotations, evaluate_summaries

__all__ = ["Row", "SummaryReport", "evaluate_annotations", "evaluate_summaries"]
