-- Mirrors min-interval.ts. Numbers: every. Cells: next.
--- look
free, wait, clear = INF, 0, 0
if $1 - now > FORGIVEN then free, wait, clear = 0, $1 - now, $1 - now end
--- take
$1 = max($1, now + @1)
--- give
$1 = min($1, now)
