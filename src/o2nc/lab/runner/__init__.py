"""What all experiments share: cells and their records, where they are computed and kept, tables, charts and reports."""
