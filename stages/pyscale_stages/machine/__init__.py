"""What the stages that measure the machine share: the place, a scratch folder, tables, joining."""
