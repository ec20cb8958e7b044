"""The collector: answers perturbed in the respondent's browser, statistics at the server (S4's model)."""
