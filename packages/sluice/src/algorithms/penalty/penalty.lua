-- Mirrors penalty.ts. Numbers: after, within, block, factor, max. Cells: strikes, since, until, length.
--- counts_denials
--- look
wait = $3 - now
free, clear = INF, 0
if wait <= FORGIVEN then wait = 0 else free = 0 end
if $2 ~= 0 and $2 + @2 > now + FORGIVEN then clear = $2 + @2 - now end
--- take
if $3 - now <= FORGIVEN then
  if $2 + @2 <= now + FORGIVEN then $1, $2, $3, $4 = 0, 0, 0, 0 end
  if $1 == 0 then $2 = max(now, $2) end
  $1 = $1 + 1
  if $1 >= @1 then
    local length = @3
    if $4 ~= 0 then length = $4 * @4 end
    $4 = min(length, @5)
    $3 = now + $4
    $1, $2 = 0, $3
  end
end
--- give
