"""Results as readers see them: rounded numbers, findings with a verdict, tables with pictures, and documents."""
