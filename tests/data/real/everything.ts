// One call of each kind that the reference server knows.
const server = mux.everything;
const attempt = (call: Promise<unknown>) => call.catch((error) => ({ name: error.name, kind: error.kind, message: error.message }));
const [echo, sum, weather, image, annotated, links, resource, refused, unfit] = await Promise.all([
  server.echo({ message: "hello" }),
  server["get-sum"]({ a: 2, b: 3 }),
  server.get_structured_content({ location: "New York" }),
  server.get_tiny_image(),
  mux.call.raw("everything.get-annotated-message", { messageType: "error", includeImage: true }),
  server.get_resource_links({ count: 2 }),
  server.get_resource_reference({ resourceType: "Blob", resourceId: 2 }),
  attempt(server.get_resource_reference({ resourceType: "Text", resourceId: -1 })),
  attempt(server.get_structured_content({ location: "Paris" as any })),
]);
const [, picture] = image;
return {
  echo,
  sum,
  weather: Object.entries(weather).map(([name, value]) => `${name}: ${typeof value}`).sort(),
  parts: image.map((part: { type: string }) => part.type),
  picture: { mimeType: picture.mimeType, png: atob(picture.data).slice(1, 4) },
  annotations: annotated.content.map((part) => ({ type: part.type, ...part.annotations })),
  links: links.slice(1).map((link: { type: string; uri: string }) => `${link.type} ${link.uri}`),
  resource: resource[1].resource.uri,
  refused,
  unfit: (unfit as { kind: string }).kind,
};
