```json
{ "a": 1 }
```

```ts
return 3;
```
