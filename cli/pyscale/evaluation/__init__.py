"""From the records of runs to what they tell: facts, findings, differences, price, report."""
