-- Mirrors pacer.ts. Numbers: interval, stored, threshold, slope, refill, warm, freshEmpty, scale, window.
-- Cells: spent, next, since.
--- bookable
--- look
local next, used = $2, $1
if $3 - now > max(@9, SKEW) then next, used = 0, 0 end
local due = next - now
free, wait, clear = INF, 0, 0
if due > TIME_EPSILON then free, wait = 0, due end
if @7 == 1 and @2 > 0 then
  if next ~= 0 then clear = INF end
else
  local time = now
  if @8 ~= 1 then time, next = floor(now * @8 + 0.5), floor(next * @8 + 0.5) end
  local missing = @2
  if not (@7 == 1 and next == 0) then missing = max(0, min(used, @2) - max(0, time - next) / @5) end
  clear = max(0, due) + (missing * @5) / @8
end
--- overdraft
local next = $2
if $3 - now > max(@9, SKEW) then next = 0 end
local dearest = max(@1, @1 + (@2 - @3) * @4)
cost = min(cost, max(0, ((now + span - next) * @8) / dearest))
--- take
local next, used = $2, $1
if $3 - now > max(@9, SKEW) then next, used = 0, 0 end
local fresh_empty = @7 == 1 and next == 0
local time = now
if @8 ~= 1 then time, next = floor(now * @8 + 0.5), floor(next * @8 + 0.5) end
local missing = @2
if not fresh_empty then missing = max(0, min(used, @2) - max(0, time - next) / @5) end
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
$3 = now
--- give
local next, used = $2, $1
if $3 - now > max(@9, SKEW) then next, used = 0, 0 end
if not (@7 == 1 and next == 0) then
  local time = now
  if @8 ~= 1 then time, next = floor(now * @8 + 0.5), floor(next * @8 + 0.5) end
  local missing = max(0, min(used, @2) - max(0, time - next) / @5)
  next = max(next, time)
  local back = min(cost, (next - time) / @1)
  local back_price = back * @1
  if @8 ~= 1 then back_price = floor(max(0, back_price + 1e-6)) end
  $1 = max(0, missing - (cost - back))
  $2 = (next - back_price) / @8
  $3 = now
end
