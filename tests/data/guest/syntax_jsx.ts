return <div>hello</div>;
