#!/usr/bin/env bash
# Checks the Dockerfile and its image without a daemon and without pulling base images: docker-check.sh BINARY
#
# BuildKit's linter reads the whole Dockerfile. Then the last stage is built as it stands; BINARY and this
# machine's CA certificates stand in for the build stage. The image runs on the sample warehouse.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${1:?usage: docker-check.sh BINARY}
address=127.0.0.1:${DOCKER_CHECK_PORT:-10073}

fail() {
	echo "docker-check: $*" >&2
	exit 1
}

command -v buildah >/dev/null || fail "needs buildah: apt-get install buildah"

go -C tools/dockerfile run . "$PWD/Dockerfile"
echo "ok: BuildKit's linter finds nothing"

[ -x "$binary" ] || fail "$binary is missing: make build"
if ldd "$binary" >/dev/null 2>&1; then
	fail "$binary is not static"
fi
echo "ok: the binary is static"

scratch=$(mktemp -d)
# Containers and images live in the scratch directory, too.
store=(buildah --root "$scratch/root" --runroot "$scratch/run" --storage-driver vfs)
server=
cleanup() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
	"${store[@]}" rm --all >/dev/null 2>&1 || true
	rm -rf "$scratch"
}
trap cleanup EXIT

stage=$scratch/build
install -D "$binary" "$stage/src/iceberg_exporter"
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$stage/etc/ssl/certs/ca-certificates.crt"
awk '/^FROM/ { last = "" } { last = last $0 "\n" } END { printf "%s", last }' Dockerfile >"$scratch/Dockerfile"
"${store[@]}" build --quiet --isolation chroot --build-context build="$stage" \
	--build-arg VERSION=1.2.3 --build-arg REVISION=abc --build-arg DATE=2026-01-01T00:00:00Z \
	--file "$scratch/Dockerfile" --tag iceberg_exporter "$scratch" >/dev/null

# is FIELD WANT: a field of the image's configuration.
is() {
	local got
	got=$("${store[@]}" inspect --type image --format "{{$1}}" iceberg_exporter)
	[ "$got" = "$2" ] || fail "$1 is $got, not $2"
	echo "ok: $1 is $2"
}
is .OCIv1.Config.User 65534:65534
is .OCIv1.Config.Entrypoint '[/bin/iceberg_exporter]'
is .OCIv1.Config.ExposedPorts 'map[10072/tcp:{}]'
is .OCIv1.Config.WorkingDir /etc/iceberg_exporter
is 'index .OCIv1.Config.Labels "org.opencontainers.image.version"' 1.2.3

container=$("${store[@]}" from iceberg_exporter)
root=$("${store[@]}" mount "$container")
files=$(cd "$root" && find . -not -type d | sort)
want='./bin/iceberg_exporter
./etc/ssl/certs/ca-certificates.crt'
[ "$files" = "$want" ] || fail "the image holds other files than it should:"$'\n'"$files"
echo "ok: the image holds the binary and the CA certificates, and no shell"

run=("${store[@]}" run --isolation chroot
	--volume "$PWD/deploy/sample.yml:/etc/iceberg_exporter/iceberg_exporter.yml:ro"
	--volume "$PWD/testdata:/etc/iceberg_exporter/testdata:ro"
	"$container" -- /bin/iceberg_exporter)
"${run[@]}" --version
"${run[@]}" --web.listen-address="$address" 2>"$scratch/log" &
server=$!

get() { curl --silent --show-error --fail --max-time 10 "http://$address$1"; }
for _ in $(seq 50); do
	kill -0 "$server" 2>/dev/null || break
	get /-/healthy >/dev/null 2>&1 && break
	sleep 0.2
done
get /-/healthy >/dev/null || { cat "$scratch/log" >&2; fail "the image does not serve"; }
echo "ok: the image serves /-/healthy"

pid=$(pgrep -f -- "^/bin/iceberg_exporter .*$address" | head -n 1)
uid=$(awk '/^Uid:/ { print $2 }' "/proc/$pid/status")
[ "$uid" = 65534 ] || fail "the program runs as user $uid"
echo "ok: the program runs as user $uid"

tables=$(get /metrics | grep -c '^iceberg_table_up{.* 1$') || true
[ "$tables" -gt 0 ] || { cat "$scratch/log" >&2; fail "the image reads no table of the sample warehouse"; }
echo "ok: it reads $tables tables of the sample warehouse"
