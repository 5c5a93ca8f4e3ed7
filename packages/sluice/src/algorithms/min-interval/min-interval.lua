-- Mirrors min-interval.ts. Numbers: every. Cells: next.
--- look
free, wait, clear = INF, 0, 0
if $1 - now > TIME_EPSILON and not ($1 - @1 - now > max(@1, SKEW)) then free, wait, clear = 0, $1 - now, $1 - now end
--- take
if $1 - now > TIME_EPSILON and not ($1 - @1 - now > max(@1, SKEW)) then
  $1 = max($1, now + @1)
else
  $1 = now + @1
end
--- give
$1 = min($1, now)
