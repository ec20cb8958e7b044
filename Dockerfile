# The collector: a survey whose answers are perturbed in the respondent's browser.
#
#   docker build -t kakuran .
#   docker run --rm -v kakuran-survey:/survey kakuran collect init survey.toml     # then edit it in the volume
#   docker run -d -p 8080:8080 -v kakuran-survey:/survey kakuran
#
# Survey, answers and the owner's token lie in /survey. Put TLS in front of it, or give --certificate and --key.

FROM python:3.11-slim AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/kakuran \
    && /opt/kakuran/bin/pip install --no-cache-dir --constraint constraints.txt '.[collect,plot]'

FROM python:3.11-slim
RUN useradd --uid 10001 --home-dir /survey --no-create-home --shell /usr/sbin/nologin kakuran \
    && install --directory --owner kakuran --mode 0700 /survey
COPY --from=build /opt/kakuran /opt/kakuran
ENV PATH=/opt/kakuran/bin:$PATH PYTHONUNBUFFERED=1 NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib
USER kakuran
WORKDIR /survey
VOLUME /survey
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["kakuran"]
CMD ["collect", "serve", "survey.toml", "--host", "0.0.0.0", "--port", "8080"]
