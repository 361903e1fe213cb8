"""The Plan page: one job sheet, the steps at its left, the estimate at its right. Draws `PlanView`, decides nothing."""
