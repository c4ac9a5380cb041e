// nothing to do
/* and nothing
   to return */
