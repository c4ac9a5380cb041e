# shellcheck shell=bash
# The parts of scripts/setup: messages, stamps, and the package managers of a machine. It is
# sourced, works from the top of the checkout (`top`, which the script sets), and installs nothing
# outside build/ but Debian packages.

say() { printf 'setup: %s\n' "$*"; }

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

have() { command -v "$1" >/dev/null || [ -x "build/tools/bin/$1" ] || [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/$1" ]; }

# Runs a command without its output, and shows the end of that output if the command fails.
logged() {
  # Absolute, because some commands run in another folder.
  local log=${top:?}/build/setup.log
  "$@" >"$log" 2>&1 </dev/null || {
    tail -n 20 "$log" >&2
    return 1
  }
}

# A stamp holds the key of the inputs that its step last succeeded with.
fresh() { [ "$(cat "build/stamps/$1" 2>/dev/null)" = "$2" ]; }

mark() {
  mkdir -p build/stamps
  printf '%s\n' "$2" >"build/stamps/$1"
}

# The key of some files, and of the place of the checkout: a Python environment does not survive a
# move. Git hashes, because no other hashing program is on every system.
key_of() { { echo "$top" && cat "$@"; } | git hash-object --stdin; }

# Succeeds if the host of a URL has the file.
answers() {
  if have curl; then
    curl -sfIL --max-time 5 -o /dev/null "$1"
  elif have python3; then
    python3 - "$1" 2>/dev/null <<'PY'
import sys, urllib.request
urllib.request.urlopen(urllib.request.Request(sys.argv[1], method="HEAD"), timeout=5)
PY
  else
    return 1
  fi
}

# download URL FILE
download() {
  if have curl; then
    curl -fsSL --retry 3 -o "$2" "$1"
  else
    python3 - "$1" "$2" <<'PY'
import sys, urllib.request
urllib.request.urlretrieve(sys.argv[1], sys.argv[2])
PY
  fi
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

apt_is_up_to_date=""

# Installs Debian packages. Fails where there is no apt-get, or no right to use it.
apt_install() {
  have apt-get && as_root true 2>/dev/null || return 1
  say "installing $* with apt-get"
  if [ -z "$apt_is_up_to_date" ]; then
    # An old list may be good enough: the install decides.
    logged as_root apt-get update -q || true
    apt_is_up_to_date=1
  fi
  logged as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

python=""

# need_python [VERSION]: finds a Python of this version or newer, 3.10 without, that can make environments. Installs
# Debian's if allowed.
need_python() { find_python "${1:-3.10}" || { apt_install python3-venv && find_python "${1:-3.10}"; }; }

find_python() {
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (${1/./, }))" 2>/dev/null; then
      return
    fi
  done
  return 1
}

# locked_npm NAME SOURCE FOLDER: installs the packages of the lock file in SOURCE. Fails, and leaves no files, if one is
# not available.
locked_npm() {
  local key
  key=$(key_of "$2/package.json" "$2/package-lock.json")
  fresh "$1" "$key" && [ -d "$3/node_modules" ] && return
  say "installing $1 from npm"
  mkdir -p "$3"
  cp "$2/package.json" "$2/package-lock.json" "$3/"
  # No install script runs: where a program is not JavaScript it is in the package, or in one of its own. Not `npm ci`,
  # which since npm 11 refuses a lock file without the optional packages of other systems: some are on no registry.
  if have npm && (cd "$3" && logged npm install --ignore-scripts --no-audit --no-fund); then
    mark "$1" "$key"
  else
    rm -rf "$3/node_modules"
    return 1
  fi
}

# locked_pip NAME REQUIREMENTS FOLDER [PYTHON]: an environment of Python with these wheels, if this version or a newer one
# is here; fails as locked_npm does.
locked_pip() {
  local key
  key=$(key_of "$2")
  fresh "$1" "$key" && [ -x "$3/bin/python" ] && return
  say "installing $1 from PyPI"
  rm -rf "$3"
  if need_python "${4:-3.10}" && logged "$python" -m venv "$3" &&
    logged "$3/bin/pip" install --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r "$2"; then
    mark "$1" "$key"
  else
    rm -rf "$3"
    return 1
  fi
}

# The version of a tool that scripts/requirements pins.
tool_version() { sed -n 's/^[^#].*==\([^ ]*\).*/\1/p' "scripts/requirements/$1.txt"; }

# pip_tool PROGRAM: puts PROGRAM, from the package of PyPI that scripts/requirements pins, into build/tools/bin.
pip_tool() {
  local folder=build/tools/$1
  # What would be compiled here is better compiled by whoever called.
  locked_pip "tool-$1" "scripts/requirements/$1.txt" "$folder" || return 1
  logged "$folder/bin/$1" --version || return 1
  mkdir -p build/tools/bin
  ln -sfn "../$1/bin/$1" "build/tools/bin/$1"
}

sha256_of() {
  if have sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# The checksum of a file as npm writes it.
sha512_of() {
  node -e 'const { createHash } = require("crypto"), { readFileSync } = require("fs");
    console.log(createHash("sha512").update(readFileSync(process.argv[1])).digest("base64"))' "$1"
}

# npm_files PACKAGE@VERSION SHA512 FOLDER FILE…: puts these files of the package into FOLDER, and nothing whose
# checksum is another.
npm_files() {
  local package=$1 wanted=$2 folder=$3 archive file
  shift 3
  rm -rf "$folder/package"
  mkdir -p "$folder/package"
  logged npm pack "$package" --pack-destination "$folder/package" --silent || fail "npm cannot download $package"
  archive=$(echo "$folder"/package/*.tgz)
  [ "$(sha512_of "$archive")" = "$wanted" ] || fail "what npm gave for $package has another checksum than scripts/setup says"
  tar -xzf "$archive" -C "$folder" "$@"
  for file in "$@"; do mv "$folder/$file" "$folder/"; done
  rm -rf "$folder/package"
}

# One line of build/env.
assign() { printf 'export %s=%q\n' "$1" "$2"; }
