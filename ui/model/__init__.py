"""What the pages show, as plain data: view-models, which know no Streamlit."""
