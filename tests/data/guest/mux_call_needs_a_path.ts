const paths = ["fix", ".echo", "fix.", "", 3, undefined, "fix.echo.more"] as any[];
return await Promise.all(paths.map((path) => mux.call(path).catch((error) => `${error.name}: ${error.message}`)));
