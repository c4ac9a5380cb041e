~~~typescript
return 1;
~~~
