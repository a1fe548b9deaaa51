FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# The context holds no git history, so whoever builds the image says what it is made of.
ARG VERSION=unknown
ARG REVISION=unknown
ARG BRANCH=unknown
ARG DATE=unknown
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH \
    make build VERSION="$VERSION" REVISION="$REVISION" BRANCH="$BRANCH" DATE="$DATE"

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
ARG DATE=unknown
LABEL org.opencontainers.image.title="iceberg_exporter" \
      org.opencontainers.image.description="Prometheus exporter for the layout of Apache Iceberg tables" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/iceberg-exporter/iceberg_exporter" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$DATE"
# Catalogs and object stores are reached over TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/iceberg_exporter /bin/iceberg_exporter
# The default of --config.file is iceberg_exporter.yml here.
WORKDIR /etc/iceberg_exporter
# A number, so that Kubernetes can see that it is not root.
USER 65534:65534
EXPOSE 10072
ENTRYPOINT ["/bin/iceberg_exporter"]
