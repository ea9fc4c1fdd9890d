# Serves a model. With a token of your own, or one that is made and printed:
#
#     docker build -t chaffinch .
#     docker run -p 8000:8000 -e CHAFFINCH_TOKEN=A-LONG-SECRET -v ./m.chaff:/models/m.chaff:ro -v notes:/corrections chaffinch \
#       /models/m.chaff
#
# The wheel is built from the source distribution. The image that runs has no compiler, no source and no root; corrections
# are written to the volume /corrections.

FROM python:3.12-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ make \
 && rm -rf /var/lib/apt/lists/* \
 && pip install --no-cache-dir "build>=1.6,<2"
WORKDIR /source
COPY . .
# It makes the source distribution first, and the wheel from that.
RUN python -m build --outdir /dist .

FROM python:3.12-slim
COPY --from=build /dist/*.whl /wheels/
RUN set -eu \
 && pip install --no-cache-dir "$(ls /wheels/*.whl)[serve]" \
 && rm -r /wheels \
 && useradd --create-home --uid 10001 chaffinch \
 && install -d -o chaffinch /corrections
USER chaffinch
WORKDIR /home/chaffinch
VOLUME /corrections
EXPOSE 8000
ENTRYPOINT ["sh", "-c", "exec chaffinch serve --host 0.0.0.0 --port 8000 --journal /corrections/corrections.jsonl ${CHAFFINCH_TOKEN:+--token \"$CHAFFINCH_TOKEN\"} \"$@\"", "serve"]
CMD ["--help"]
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=5)"]
