#!/bin/sh
# Installs muxd for one user, from a directory of release files on a web server; --help describes the options.
#
# The archive is unpacked only if its checksum is right, and what was installed before is replaced only after the new
# programs have started once. If a step fails, what was there is as it was.
set -eu
umask 022

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

base=${MUXD_BASE_URL:-} prefix='' uninstall=''
while [ $# -gt 0 ]; do
  case $1 in
    --base-url | --prefix)
      [ -n "${2:-}" ] || fail "$1 takes a value"
      if [ "$1" = --prefix ]; then prefix=$2; else base=$2; fi
      shift
      ;;
    --uninstall) uninstall=1 ;;
    -h | --help)
      cat <<'HELP'
Installs muxd for one user, from a directory of release files on a web server:

  sh install.sh --base-url URL [--prefix DIR]
  sh install.sh --uninstall [--prefix DIR]

  --base-url   where SHA256SUMS and the archives are; MUXD_BASE_URL without
  --prefix     programs go to DIR/bin, manual pages and completions to DIR/share; ~/.local without
  --uninstall  remove what this script installed there

It needs curl or wget, tar, and sha256sum, shasum or openssl.
HELP
      exit
      ;;
    *) fail "unknown argument: $1 (--help lists the known ones)" ;;
  esac
  shift
done
if [ -z "$prefix" ]; then
  [ -n "${HOME:-}" ] || fail "HOME is not set: name a directory with --prefix"
  prefix=$HOME/.local
fi
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
marker=$prefix/share/mux/installed-by
list=$prefix/share/mux/installed-files

is_ours() { [ -f "$list" ] && [ "$(cat "$marker" 2>/dev/null)" = install.sh ]; }

if [ -n "$uninstall" ]; then
  is_ours || fail "install.sh has not installed muxd to $prefix: there is no $list"
  while IFS= read -r file; do rm -f "$prefix/$file"; done <"$list"
  rm -f "$list" "$marker"
  rmdir "$prefix/share/mux" "$prefix/share/doc/muxd" 2>/dev/null || true
  echo "muxd is removed from $prefix. Your configuration and data remain."
  exit
fi

[ -n "$base" ] || fail "where are the files? Name their address with --base-url URL, or in MUXD_BASE_URL"
base=${base%/}

case $(uname -s) in
  Linux)
    system=unknown-linux-gnu
    # The other programs need glibc.
    if ldd --version 2>&1 | grep -qi musl; then system=unknown-linux-musl; fi
    ;;
  Darwin) system=apple-darwin ;;
  MINGW* | MSYS* | CYGWIN*) fail "muxd is not built for Windows: run this inside WSL" ;;
  *) fail "muxd is not built for $(uname -s), only for Linux and macOS: build it from source" ;;
esac
case $(uname -m) in
  x86_64 | amd64) machine=x86_64 ;;
  aarch64 | arm64) machine=aarch64 ;;
  *) fail "muxd is not built for $(uname -m): build it from source" ;;
esac
# A shell under Rosetta says x86_64 on an ARM machine.
if [ "$system" = apple-darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then
  machine=aarch64
fi
target=$machine-$system

if has curl; then
  fetch() { curl -fsSL -o "$2" "$1"; }
elif has wget; then
  fetch() { wget -q -O "$2" "$1"; }
else
  fail "neither curl nor wget is here: install one of them"
fi
if has sha256sum; then
  sha256() { sha256sum <"$1" | cut -d' ' -f1; }
elif has shasum; then
  sha256() { shasum -a 256 <"$1" | cut -d' ' -f1; }
elif has openssl; then
  sha256() { openssl dgst -sha256 -r <"$1" | cut -d' ' -f1; }
else
  fail "nothing here computes SHA-256: install sha256sum, shasum or openssl"
fi
for program in mux muxd mux-worker; do
  file=$prefix/bin/$program
  if [ -e "$file" ] || [ -L "$file" ]; then
    is_ours || fail "$file is there, and install.sh did not install it: remove it in the way that it was installed, or name another --prefix"
  fi
done

# Everything is prepared on the target disk. Renaming is then the only visible step.
new_prefix=''
[ -d "$prefix" ] || new_prefix=1
stage='' replacing=''
clean_up() {
  if [ -n "$replacing" ]; then restore; fi
  [ -z "$stage" ] || rm -rf "$stage"
  # Directories that are empty now.
  if [ -n "$new_prefix" ]; then find "$prefix" -depth -type d -exec rmdir {} + 2>/dev/null || true; fi
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$prefix" || fail "cannot create $prefix"
stage=$(mktemp -d "$prefix/.muxd-install.XXXXXX") || fail "cannot write to $prefix"

fetch "$base/SHA256SUMS" "$stage/SHA256SUMS" ||
  fail "cannot download $base/SHA256SUMS to $prefix (the address, the network or the disk). Nothing was changed."
archives=$(sed -n 's/^[0-9a-f]\{64\} [ *]\(mux-[^/]*\.tar\.gz\)$/\1/p' "$stage/SHA256SUMS" | grep -v -e '-symbols\.tar\.gz$' || true)
archive=$(printf '%s\n' "$archives" | grep -e "-$target\.tar\.gz\$" || true)
case $archive in
  '') fail "$base has no archive for $target, only: $(echo "${archives:-none}" | tr '\n' ' '). Build muxd from source." ;;
  *"
"*) fail "$base has archives of several versions for $target: $(echo "$archive" | tr '\n' ' ')" ;;
esac
fetch "$base/$archive" "$stage/$archive" ||
  fail "cannot download $base/$archive to $prefix (the address, the network, or a full disk). Nothing was changed."
expected=$(grep -e " [ *]*$archive\$" "$stage/SHA256SUMS" | cut -d' ' -f1)
found=$(sha256 "$stage/$archive")
[ "$found" = "$expected" ] ||
  fail "wrong checksum: $archive has $found, and SHA256SUMS says $expected. Nothing was changed. Download it again; if that does not help, do not trust the server."

mkdir "$stage/old"
top=${archive%.tar.gz}
tree=$stage/$top
said=$(tar -xzf "$stage/$archive" -C "$stage" "$top/bin" "$top/share" "$top/LICENSE" "$top/LICENCES.txt" 2>&1) ||
  fail "cannot unpack $archive to $prefix: $(echo "$said" | head -n 1). Nothing was changed."
rm "$stage/$archive"
if ! {
  mkdir -p "$tree/share/doc/muxd" "$tree/share/mux" &&
    mv "$tree/LICENSE" "$tree/LICENCES.txt" "$tree/share/doc/muxd" &&
    (cd "$tree" && find bin share -type f) >"$stage/files" &&
    echo install.sh >"$tree/share/mux/installed-by" &&
    cp "$stage/files" "$tree/share/mux/installed-files"
}; then
  fail "cannot write to $prefix. Is the disk full? Nothing was changed."
fi
said=$("$tree/bin/mux" -V 2>&1) || fail "the programs do not start on this machine: $said. Nothing was changed."
printf '%s\n' share/mux/installed-by share/mux/installed-files >>"$stage/files"

# Undoes the replacement of the files that have left the stage: the old ones return, and new ones are removed.
restore() {
  while IFS= read -r file; do
    if [ -e "$tree/$file" ]; then
      continue
    elif [ -e "$stage/old/$file" ]; then
      mv -f "$stage/old/$file" "$prefix/$file" || true
    else
      rm -f "$prefix/$file"
    fi
  done <"$stage/files"
}

# Keeps a file before it is replaced, as a copy if the file system has no hard links.
keep_old() {
  mkdir -p "$prefix/${1%/*}" "$stage/old/${1%/*}" || return 1
  [ -e "$prefix/$1" ] || return 0
  ln "$prefix/$1" "$stage/old/$1" 2>/dev/null || cp -p "$prefix/$1" "$stage/old/$1"
}

while IFS= read -r file; do
  keep_old "$file" || fail "cannot write to $prefix/${file%/*}. Is the disk full? Nothing was changed."
done <"$stage/files"
if is_ours; then cp "$list" "$stage/before"; else : >"$stage/before"; fi
replacing=1
while IFS= read -r file; do
  mv -f "$tree/$file" "$prefix/$file" || fail "cannot write $prefix/$file. What was installed before is as it was."
done <"$stage/files"
replacing='' new_prefix=''
# Files of the version before that are no more.
while IFS= read -r file; do
  grep -qxF -e "$file" "$stage/files" || rm -f "$prefix/$file"
done <"$stage/before"

echo "$said is installed in $prefix/bin."
case :${PATH:-}: in
  *":$prefix/bin:"*) ;;
  *) echo "Add it to PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
if [ -s "$stage/before" ]; then echo "A running daemon keeps the old build until: mux restart --upgrade"; fi
echo "Next: mux doctor. Remove: sh install.sh --uninstall${prefix:+ --prefix $prefix}"
