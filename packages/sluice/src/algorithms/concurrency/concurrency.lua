-- A log of leases, of which `release` gives back. Mirrors concurrency.ts, and giveFrom of sliding-log.ts.
--- like sliding-log
--- holds
--- give
log_drop_expired($, @2, @3, now)
if span < 0 then
  $.base = min($.base + cost, log_last_sum($))
else
  local head, tail = $.head, $.tail
  local low, high = head, tail
  while low < high do
    local middle = floor((low + high) / 2)
    if time_at($, middle) >= span then high = middle else low = middle + 1 end
  end
  if low < tail and time_at($, low) == span then
    local given, gap = sum_at($, low) - log_base($, low), 1
    if given - cost > 1e-9 then given, gap = cost, 0 end
    if low - head < tail - low then
      $.base = min($.base + given, log_last_sum($))
      for i = low - 1, head, -1 do put_at($, i + gap, time_at($, i), sum_at($, i) + given) end
      $.head = head + gap
    else
      for i = low + gap, tail - 1 do put_at($, i - gap, time_at($, i), sum_at($, i) - given) end
      $.tail = tail - gap
    end
  end
end
while $.head < $.tail and sum_at($, $.head) <= $.base do $.head = $.head + 1 end
if $.head == $.tail then $.head, $.tail, $.base = 0, 0, 0 end
--- taken_at
if $.tail > $.head then taken_at = time_at($, $.tail - 1) end
