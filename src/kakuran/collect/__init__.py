"""The collector: answers perturbed in the respondent's browser, statistics at the server (S4's model)."""

from kakuran.collect.client import SurveyClient
from kakuran.collect.survey import Question, Survey

__all__ = ["Question", "Survey", "SurveyClient"]
