"""`local`: ruin and recreate over whole stays, with an exact incremental simulation."""
