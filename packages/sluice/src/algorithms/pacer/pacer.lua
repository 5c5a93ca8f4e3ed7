-- Mirrors pacer.ts. Numbers: interval, stored, threshold, slope, refill, warm, freshEmpty, scale. Cells: spent, next.
--- bookable
--- look
local due = $2 - now
free, wait, clear = INF, 0, 0
if due > FORGIVEN then free, wait = 0, due end
if @7 == 1 and @2 > 0 then
  if $2 ~= 0 then clear = INF end
else
  local time, next = now, $2
  if @8 ~= 1 then time, next = floor(now * @8 + 0.5), floor($2 * @8 + 0.5) end
  local missing = @2
  if not (@7 == 1 and $2 == 0) then missing = max(0, min($1, @2) - max(0, time - next) / @5) end
  clear = max(0, due) + (missing * @5) / @8
end
--- take
local time, next = now, $2
if @8 ~= 1 then time, next = floor(now * @8 + 0.5), floor($2 * @8 + 0.5) end
local missing = @2
if not (@7 == 1 and $2 == 0) then missing = max(0, min($1, @2) - max(0, time - next) / @5) end
local stored = @2 - missing
local from_store = min(cost, stored)
local cold = max(0, stored - @3)
local from_cold = min(cold, from_store)
local edges = @1 + cold * @4 + (@1 + (cold - from_cold) * @4)
local cold_price, warm_price = (from_cold * edges) / 2, (from_store - from_cold) * @6
local fresh_price = (cost - from_store) * @1
if @8 ~= 1 then
  cold_price, warm_price = floor(max(0, cold_price + 1e-6)), floor(max(0, warm_price + 1e-6))
  fresh_price = floor(max(0, fresh_price + 1e-6))
end
$1 = missing + from_store
$2 = (max(next, time) + (cold_price + warm_price + fresh_price)) / @8
--- give
if not (@7 == 1 and $2 == 0) then
  local time, next = now, $2
  if @8 ~= 1 then time, next = floor(now * @8 + 0.5), floor($2 * @8 + 0.5) end
  local missing = max(0, min($1, @2) - max(0, time - next) / @5)
  next = max(next, time)
  local back = min(cost, (next - time) / @1)
  local back_price = back * @1
  if @8 ~= 1 then back_price = floor(max(0, back_price + 1e-6)) end
  $1 = max(0, missing - (cost - back))
  $2 = (next - back_price) / @8
end
