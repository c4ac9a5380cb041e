# shellcheck shell=bash
# Functions that scripts/release and scripts/package share. Source it under `set -e`. `key` is the signing key's file, or
# empty.

fail() {
  echo "scripts/${0##*/}: $1" >&2
  exit 1
}

# Prints the comment at the top of the script that runs.
help() { sed -n '2,/^[^#]/s/^#\( \|$\)//p' "$0"; }

# Checks before a build, not after it, whether files can be signed.
check_key() {
  [ -n "${key:-}" ] || return 0
  [ -r "$key" ] || fail "cannot read the signing key $key"
  command -v ssh-keygen >/dev/null || fail "ssh-keygen is missing, which signs: install OpenSSH"
  # Absolute, because the checksums are signed in another folder.
  case $key in /*) ;; *) key=$PWD/$key ;; esac
}

# Keeps the paths of this machine out of programs and symbols, to make two checkouts give the same bytes.
hide_paths() {
  local from to cargo=${CARGO_HOME:-$HOME/.cargo} target_dir=${CARGO_TARGET_DIR:-target}
  # The folder must exist, because its path is resolved.
  mkdir -p "$target_dir"
  while IFS='|' read -r from to; do
    RUSTFLAGS+=" --remap-path-prefix=$from=$to"
    CFLAGS+=" -ffile-prefix-map=$from=$to"
  done <<PATHS
$PWD|muxd
$(cd "$target_dir" && pwd)|target
$cargo/registry/src|crates
$(rustc --print sysroot)|rust
PATHS
  export RUSTFLAGS CFLAGS
}

host_target() { rustc -vV | sed -n 's/^host: //p'; }

# --- Cross-compiling: `target` is the platform, `compiler` its C compiler, and `tools` the prefix of its binutils ---

compiler="" tools=""

# Runs a program of the platform.
run() { "$@"; }

# Chooses the tools for the platform.
find_cross_tools() {
  case $target in
    aarch64-unknown-linux-gnu)
      compiler=aarch64-linux-gnu-gcc tools=aarch64-linux-gnu-
      command -v qemu-aarch64 >/dev/null ||
        fail "nothing here runs programs of $target, which write their manual pages: apt-get install qemu-user"
      run() { qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"; }
      ;;
    # The programs are static, and run here.
    x86_64-unknown-linux-musl) compiler=musl-gcc ;;
    *) fail "cannot cross-compile for $target, only for aarch64-unknown-linux-gnu and x86_64-unknown-linux-musl: run scripts/release there" ;;
  esac
}

# Fails without a C compiler for the platform.
check_compiler() {
  case $target in
    aarch64-*) command -v "$compiler" >/dev/null && [ -f /usr/aarch64-linux-gnu/lib/libc.so ] ||
      fail "no C compiler for $target: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
    *) command -v "$compiler" >/dev/null || fail "no C compiler for $target: apt-get install musl-tools" ;;
  esac
}

# Sets the variables of a cross build, and `features` to those of the engine that can be had for the platform.
prepare_cross_build() {
  local variable v8 folder=${CARGO_TARGET_DIR:-target}/$target
  check_compiler
  [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] ||
    fail "no Rust libraries for $target: rustup target add $target"
  variable=${target//-/_}
  export "CC_$variable=$compiler"
  # Rust has the startup files of musl. musl-gcc would name a dynamic loader in the programs, which static ones lack.
  [ "$compiler" = musl-gcc ] || export "CARGO_TARGET_$(tr a-z A-Z <<<"$variable")_LINKER=$compiler"
  v8=$(sed -n '/^name = "v8"$/{n;s/^version = "\(.*\)"$/\1/p;}' Cargo.lock)
  v8=v$v8/librusty_v8_simdutf_release_$target.a.gz
  # An archive in RUSTY_V8_ARCHIVE is for one platform, which build/env has chosen for this machine.
  unset RUSTY_V8_ARCHIVE
  if [ "$MUX_ENGINE" = v8 ] && has_v8 "$v8"; then
    features=()
    return
  fi
  echo "scripts/${0##*/}: no $v8 here: mux-worker gets the engine QuickJS" >&2
  features=(--no-default-features --features quickjs)
  [ -d build/simde ] || scripts/setup --quickjs >&2
  # CMake builds a part of QuickJS, and knows the platform from this file only.
  mkdir -p "$folder"
  CMAKE_TOOLCHAIN_FILE=$(cd "$folder" && pwd)/toolchain.cmake
  export CMAKE_TOOLCHAIN_FILE
  cat >"$CMAKE_TOOLCHAIN_FILE" <<CMAKE
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${target%%-*})
set(CMAKE_C_COMPILER $compiler)
set(FETCHCONTENT_SOURCE_DIR_SIMDE "$PWD/build/simde" CACHE PATH "")
CMAKE
}

# Succeeds if the archive is in the mirror, or where the v8 crate's build script downloads it.
has_v8() {
  case ${RUSTY_V8_MIRROR:-} in
    /*) [ -f "$RUSTY_V8_MIRROR/$1" ] ;;
    *) curl -sfIL --max-time 5 -o /dev/null "${RUSTY_V8_MIRROR:-https://github.com/denoland/rusty_v8/releases/download}/$1" ;;
  esac
}

# --- Checksums ------------------------------------------------------------------------------------

# write_sums DIR: SHA256SUMS of all files in DIR, and SHA256SUMS.sig if there is a key.
write_sums() (
  cd "$1" || exit
  if command -v sha256sum >/dev/null; then sum=(sha256sum); else sum=(shasum -a 256); fi
  # A signature of other checksums is worse than none.
  rm -f SHA256SUMS SHA256SUMS.sig
  "${sum[@]}" -- * >.SHA256SUMS
  mv .SHA256SUMS SHA256SUMS
  [ -z "${key:-}" ] || ssh-keygen -q -Y sign -n muxd -f "$key" SHA256SUMS
)
