return (await mux.props.add({ a: 1, b: 2 })).sum;
