local now = ARGV[1]
local hex = sub(now, 1, 1) == 'x'
if hex then now = sub(now, 2) end
local keep = 0 -- how much longer than until it is clear a row is kept
if now == '' then
  local time = call('TIME')
  now = time[1] * 1000 + time[2] / 1000
else
  -- Another clock may stand still or go back while the server's, by which values expire, goes on.
  now = now + 0
  keep = 86400000
end

local out, failed = {}, nil
local word, verb, amount, span
«locals»

for j = 1, #KEYS do
  local key = KEYS[j]
  -- A word that is not there is the one before.
  local own = ARGV[FIRST_WORD + j]
  if own and own ~= word then
    word = own
    verb = sub(word, 1, 1)
    if verb == 'r' or verb == 'b' then
      local blank = string.find(word, ' ', 2, true)
      amount, span = sub(word, 2, blank - 1) + 0, sub(word, blank + 1) + 0
    else
      amount, span = sub(word, 2) + 0, 0
    end
  end

  local allowed, taken, block, delay, blocked_until, write, failure = 0, 0, 0, 0, 0, false, nil
  if verb == 'z' then call('DEL', key) end
  «load»
  if not failure then
    local cost, longest, charged, final = amount, 0, 0, false
    if verb == 'b' then
      blocked_until, write = now + span, true
    elseif verb == 'f' then
      «give»
      write = true
    elseif verb == 'l' then
      «release»
      write = true
    end
    if blocked_until > now then block = blocked_until - now end
    if verb == 'f' or verb == 'l' or verb == 'b' or verb == 'z' then cost = 1 end

    -- Looks, charges, and looks again at what is left. In partial mode also at the units that might fit.
    local units = 0
    repeat
      longest = 0
      «look»
      if final then break end
      final = true
      if verb == 'w' or verb == 'a' then
        if longest == 0 and block == 0 then allowed = 1 end
        if allowed == 1 or verb == 'a' then charged = amount end
      elseif verb == 'p' then
        if block == 0 and longest == 0 then
          charged, allowed = cost, 1
        elseif block == 0 and units == 0 then
          units = amount
          «least»
          units = floor(units)
          if units >= 1 then cost, final = units, false end
        end
        if final then cost = min(amount, 1) end
      elseif verb == 'r' then
        local fixed = block > 0
        «fixed»
        if not fixed and longest < INF and longest <= span then
          charged, delay = amount, longest
          if longest == 0 then allowed = 1 end
        end
      elseif longest == 0 and block == 0 then
        allowed = 1
      end
      if charged > 0 then
        local cost = charged
        «charge»
        taken, write = charged, true
      end
      if final and allowed == 0 and block == 0 and (verb == 'w' or verb == 'a' or verb == 'p') then
        «strike»
      end
    until final and not write and verb ~= 'p'

    if write then
      longest = max(0, blocked_until - now)
      «longest»
      longest = longest + keep
      if longest == 0 then
        call('DEL', key)
      else
        -- A row that is never clear is kept for a century.
        local ttl = ceil(min(longest, 3155760000000))
        «save»
      end
    end
  end
  if failure then
    failed = failed or {}
    failed[#failed + 1], failed[#failed + 2] = j, failure
  end
  out[j] = pack(REPORT, allowed, taken, block, delay, «report»)
end

local reply = out[1]
if #KEYS > 1 then reply = table.concat(out) end
if hex then
  reply = string.gsub(reply, '.', function(c) return string.format('%02x', string.byte(c)) end)
end
if failed then return { reply, unpack(failed) } end
return reply
