"""Record filters: by regular expression, by JMESPath, by key. Pure: batches in, selections out."""
