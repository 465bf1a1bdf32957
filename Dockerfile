# The explorer: `docker build -t mallocmuzero .`, `docker run --rm -p 8501:8501 mallocmuzero`.
FROM python:3.11-slim-bookworm

RUN useradd --create-home --uid 1000 explorer
WORKDIR /home/explorer

# The packages first: they change less often than the code.
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt

COPY . source
RUN pip install --no-cache-dir --no-deps ./source && rm -r source

USER 1000
EXPOSE 8501
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://localhost:8501/_stcore/health')"]
CMD ["mallocmuzero", "app", "--no-browser", "--port", "8501"]
