# What the install scripts share: everything goes below the folder in the first argument (or $BENTPIPE_PEERS; target/peers otherwise), nothing into the system.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=$(basename "$here")
base=${1:-${BENTPIPE_PEERS:-$here/../../target/peers}}
mkdir -p "$base/$name"
home=$(cd "$base/$name" && pwd)

# The version that peer.toml names.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/peer.toml")

need() {
    local tool
    for tool in "$@"; do
        if ! command -v "$tool" >/dev/null; then
            echo "$name: $tool is missing" >&2
            exit 1
        fi
    done
}

# A Cargo project of this folder: the program `peer-NAME` below $home/bin. All of them share one folder to build in, which may be removed afterwards.
cargo_program() {
    need cargo cc
    (cd "$here" && CARGO_TARGET_DIR="$base/build" cargo build --release --locked --quiet)
    mkdir -p "$home/bin"
    install -m 755 "$base/build/release/peer-$name" "$home/bin/"
}

# A virtual environment of Python with these packages.
venv() {
    need python3
    python3 -m venv "$home/venv"
    "$home/venv/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# Debian packages, unpacked below $home.
debian() {
    if command -v "$name" >/dev/null; then
        echo "$name: the system has it"
        return
    fi
    need apt-get dpkg-deb
    local folder
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' RETURN
    # The user that apt downloads as must be able to write there.
    chmod 755 "$folder"
    (cd "$folder" && apt-get -o APT::Sandbox::User=root download -qq "$@" && for package in ./*.deb; do dpkg-deb -x "$package" "$home"; done)
}
