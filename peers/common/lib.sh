# Shared by the install scripts. Everything is installed below one folder, nothing into the system.
# The folder is the first argument, else $BENTPIPE_PEERS, else target/peers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=$(basename "$here")
base=${1:-${BENTPIPE_PEERS:-$here/../../target/peers}}
mkdir -p "$base/$name"
home=$(cd "$base/$name" && pwd)

# The version in peer.toml.
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

# Builds the Cargo project of this folder and installs its program as $home/bin/peer-NAME. All
# projects share the build folder $base/build, which may be removed afterwards.
cargo_program() {
    need cargo cc
    (cd "$here" && CARGO_TARGET_DIR="$base/build" cargo build --release --locked --quiet)
    mkdir -p "$home/bin"
    install -m 755 "$base/build/release/peer-$name" "$home/bin/"
}

# Creates a Python virtual environment with these packages.
venv() {
    need python3
    python3 -m venv "$home/venv"
    "$home/venv/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# Unpacks these Debian packages below $home, unless the system has the program.
debian() {
    if command -v "$name" >/dev/null; then
        echo "$name: the system has it"
        return
    fi
    need apt-get dpkg-deb
    local folder
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' RETURN
    # apt downloads as a user of its own, which must be able to write here.
    chmod 755 "$folder"
    (
        cd "$folder" && apt-get -o APT::Sandbox::User=root download -qq "$@" &&
            for package in ./*.deb; do dpkg-deb -x "$package" "$home"; done
    )
}

# Installs a program from a build that the user has: the variable $1 names the folder of the build,
# which has the program $2. Nothing is built or downloaded here. Exit status 3 if it is not set.
own_build() {
    local folder=${!1:-}
    if [ -z "$folder" ]; then
        cat >&2 <<END
$name: $1 is not set. No package registry has $name with HTTP/3, so bring a build of yours: build it as
    its README says, and name the folder with the program $2:
    $1=/path/to/the/build peers/install $name
END
        exit 3
    fi
    if [ ! -f "$folder/$2" ] || [ ! -x "$folder/$2" ]; then
        echo "$name: $1 is $folder, which has no program $2; allowed: the folder of a build" >&2
        exit 1
    fi
    mkdir -p "$home/bin"
    install -m 755 "$folder/$2" "$home/bin/"
}
