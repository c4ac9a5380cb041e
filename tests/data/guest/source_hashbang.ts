#!/usr/bin/env -S mux run
return mux.nowhere_near.at_all({});
