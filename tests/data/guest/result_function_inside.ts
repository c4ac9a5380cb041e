return { rows: [{ id: 1, render: () => "x" }] };
