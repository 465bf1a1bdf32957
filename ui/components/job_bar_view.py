"""The bar of a job under way, with the button that stops it."""

from __future__ import annotations

import streamlit as st

from ui.jobs.protocol import RUNNING
from ui.jobs.run import Job


def job_bar(job: Job, name: str) -> None:
    """Who works, how far, and what it says of itself; nothing once it is over."""
    if job.is_over:
        return
    bar, button = st.columns([6, 1], vertical_alignment="center")
    text = job.message or "gets ready" if job.state == RUNNING else "waits for a free worker"
    bar.progress(job.progress, text=f"**{name}** · {text}")
    if button.button("Stop", key=f"stop_{id(job)}", width="stretch"):
        job.stop()
        st.rerun()
