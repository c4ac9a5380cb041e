```ts return 3```
