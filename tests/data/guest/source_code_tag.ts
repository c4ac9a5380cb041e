<code>
return 3;
</code>
