# Sourced by the scripts that compile for another system on Linux: the toolchain that scripts/setup has found.
#
# shellcheck shell=bash

# use_toolchain rustup|debian: makes it the toolchain of this script, with the arguments of cargo that it needs in
# build_std. Fails where there is none.
use_toolchain() {
  build_std=()
  case $1 in
    rustup) ;;
    debian)
      echo "$0: with Debian's toolchain, which checks the standard library first"
      export PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1
      # The target directory of another compiler stays as it is.
      export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/debian
      build_std=(-Zbuild-std)
      ;;
    *) return 1 ;;
  esac
}
