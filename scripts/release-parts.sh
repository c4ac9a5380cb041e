# shellcheck shell=bash
# What scripts/release and scripts/package share; it is sourced under `set -e`. `key` is the file of the signing key, or empty.

fail() {
  echo "scripts/${0##*/}: $1" >&2
  exit 1
}

# Prints the comment at the top of the script that runs.
help() { sed -n '2,/^[^#]/s/^#\( \|$\)//p' "$0"; }

# Finds out before a build, and not after it, that nothing can be signed.
check_key() {
  [ -n "${key:-}" ] || return 0
  [ -r "$key" ] || fail "cannot read the signing key $key"
  command -v ssh-keygen >/dev/null || fail "ssh-keygen is missing, which signs: install OpenSSH"
  # Absolute, because the checksums are signed in another folder.
  case $key in /*) ;; *) key=$PWD/$key ;; esac
}

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
