# Shared by the install scripts. Everything is installed below one folder, nothing into the system.
# The folder is the first argument, else $BENTPIPE_PEERS, else target/peers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=$(basename "$here")
base=${1:-${BENTPIPE_PEERS:-$here/../../target/peers}}
mkdir -p "$base/$name"
base=$(cd "$base" && pwd)
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

# Installs the programs $2... of the folder $1.
install_programs() {
    local folder=$1
    shift
    mkdir -p "$home/bin"
    install -m 755 "${@/#/$folder/}" "$home/bin/"
}

# Installs the programs in $1 from a build that the user has, if $BENTPIPE_NAME_BUILD names the
# folder that has them. Else checks that the variables $2... name source trees, for cmake_tree, and
# returns 1. Nothing is downloaded. Exit status 3 if neither is set.
own_build() {
    local build=BENTPIPE_${name^^}_BUILD program variable example= missing=
    local folder=${!build:-}
    local -a programs
    read -ra programs <<<"$1"
    shift
    if [ -n "$folder" ]; then
        for program in "${programs[@]}"; do
            if [ ! -f "$folder/$program" ] || [ ! -x "$folder/$program" ]; then
                echo "$name: $build is $folder, which has no program $program; allowed: the folder of a build" >&2
                exit 1
            fi
        done
        install_programs "$folder" "${programs[@]}"
        return
    fi
    for variable in "$@"; do
        folder=${!variable:-}
        example+="$variable=/path/to/its/source "
        if [ -z "$folder" ]; then
            missing=${missing:-$variable}
        elif [ ! -f "$folder/CMakeLists.txt" ]; then
            echo "$name: $variable is $folder, which has no CMakeLists.txt; allowed: a source tree" >&2
            exit 1
        fi
    done
    if [ -n "$missing" ]; then
        cat >&2 <<END
$name: $missing is not set, nor is $build. No package registry has $name with HTTP/3. Name its
    source, or a build that has ${programs[*]}:
    ${example}peers/install $name
    $build=/path/to/the/build peers/install $name
END
        exit 3
    fi
    need cmake cc c++
    return 1
}

# Builds the targets of the source tree $1 with CMake in $trees/$2, as a release: cmake_tree SOURCE
# NAME "TARGETS" [OPTION...]. The source tree stays as it is.
trees=$base/build/trees
cmake_tree() {
    local source=$1 tree=$trees/$2 log=$trees/$2.log
    local -a targets
    read -ra targets <<<"$3"
    shift 3
    mkdir -p "$trees"
    echo "$name: building ${targets[*]}, which can take minutes; $log"
    if ! { cmake -S "$source" -B "$tree" -DCMAKE_BUILD_TYPE=Release "$@" &&
        cmake --build "$tree" --parallel "$(nproc)" --target "${targets[@]}"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "$name: not built; all of it: $log" >&2
        exit 1
    fi
}
