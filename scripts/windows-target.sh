# Sourced by the scripts that compile for Windows on Linux: the target, the toolchain, and the libraries of C.
#
# shellcheck shell=bash

# shellcheck source=/dev/null
. build/env
# shellcheck source=scripts/cross-toolchain.sh
. scripts/cross-toolchain.sh
target=x86_64-pc-windows-gnu
wine=/usr/lib/wine/wine64
top=$PWD

# build_for_windows COMMAND ARGUMENT…: a command of cargo for the target.
build_for_windows() {
  local command=$1
  shift
  cargo "$command" --target "$target" "${build_std[@]}" "$@"
}

use_toolchain "${MUX_WINDOWS_TOOLCHAIN:-}" || {
  echo "$0: no standard library for Windows, or no mingw-w64: run scripts/setup --windows" >&2
  exit 1
}
programs=${CARGO_TARGET_DIR:-target}/$target/debug

# prepare_wine FOLDER: Wine with the programs of a folder. Wine's own files are beside them.
prepare_wine() {
  local folder
  folder=$(cd "$1" && pwd)
  x86_64-w64-mingw32-gcc -shared -o "$folder/bcryptprimitives.dll" tests/wine/bcryptprimitives.c -ladvapi32
  export WINEPREFIX=$folder/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
  # Rust's programs need Windows 10.
  "$wine" winecfg -v win10 >/dev/null 2>&1 || {
    echo "$0: Wine does not start" >&2
    exit 1
  }
}

# The build script of QuickJS asks cmake for the system that it runs on, unless a file says otherwise.
mkdir -p build
cat >build/windows.cmake <<CMAKE
include($top/build/simde.cmake OPTIONAL)
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++)
set(WAMR_BUILD_PLATFORM windows CACHE STRING "")
set(WAMR_BUILD_INVOKE_NATIVE_GENERAL 1 CACHE STRING "")
CMAKE
export CMAKE_TOOLCHAIN_FILE=$top/build/windows.cmake
