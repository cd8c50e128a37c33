# The runner alone: the image of a Job's init container, and the base of the images in images/.
#
#   make dist
#   docker build --build-arg TARGETARCH=amd64 -t localhost/captf-runner:dev .
#
# BuildKit sets TARGETARCH by itself.
FROM scratch
ARG TARGETARCH
# The certificates of public authorities, and the folders of the contract (docs/images.md).
COPY dist/rootfs/ /
COPY --chown=65532:65532 dist/work/ /captf/work/
COPY dist/${TARGETARCH}/captf-runner /captf-runner
ARG VERSION=unknown
LABEL org.opencontainers.image.title="captf-runner" \
      org.opencontainers.image.source="https://github.com/captf/captf-runner" \
      org.opencontainers.image.version="${VERSION}" \
      captf.io/contract="1"
USER 65532:65532
WORKDIR /captf/work
ENTRYPOINT ["/captf-runner"]
