return { "total count": 10n };
