local time = call('TIME')
local clock = time[1] * 1000 + time[2] / 1000 -- the server's, by which values expire
local given, mark = ARGV[1], ARGV[2]
local hex = sub(given, 1, 1) == 'x'
if hex then given = sub(given, 2) end
local distinct = sub(given, 1, 1) == 'd'
if distinct then given = sub(given, 2) end
local now, keep = clock, 0 -- keep: how much longer than until it is clear a row is kept
-- Another clock may stand still or go back while the server's goes on.
if given ~= '' then now, keep = given + 0, 86400000 end

«all»
local out, size, failed = { pack('<d', now) }, 1, nil
local word, verb, amount, span
«locals»

for j = 1, #KEYS do
  local key = KEYS[j]
  -- A word that is not there is the one before.
  local own = ARGV[FIRST_WORD + j]
  if own and own ~= word then
    word = own
    verb = sub(word, 1, 1)
    local blank = string.find(word, ' ', 2, true)
    if blank then
      amount, span = sub(word, 2, blank - 1) + 0, sub(word, blank + 1) + 0
    else
      amount, span = sub(word, 2) + 0, -1
    end
  end

  local blocked_until, write, outcome, report, failure = 0, false, nil, nil, nil
  if verb == 'z' then call('DEL', key) end
  «load»
  if not failure then
    «convert»
    local cost, longest = amount, 0
    if verb == 'w' and blocked_until <= now then
      -- What most hits are, in the shortest way.
      «look»
      if longest == 0 then
        «charge»
        outcome, write = '1', true
      else
        outcome = '0'
        «strike»
      end
      if write then
        «look again»
      end
    else
      local allowed, taken, block, delay, charged, final = 0, 0, 0, 0, 0, false
      if verb == 'b' then
        blocked_until, write = now + span, true
      elseif verb == 'f' and («used») then
        «give»
        write = true
      elseif (verb == 'l' or verb == 'n') and («used») then
        «release»
        write = true
      end
      if blocked_until > now then block = blocked_until - now end
      if verb == 'f' or verb == 'l' or verb == 'b' or verb == 'z' then cost = 1 end

      -- Looks, charges, and looks again at what is left. In partial mode also at the units that might fit.
      local units, tries = 0, 0
      repeat
        longest = 0
        «look»
        if final then break end
        final = true
        if verb == 'a' then
          if longest == 0 and block == 0 then allowed = 1 end
          charged = amount
        elseif verb == 'p' then
          if block == 0 and longest == 0 then
            charged, allowed = cost, 1
          elseif block == 0 and tries < 2 then
            tries = tries + 1
            if tries == 1 then
              units = amount
              «least»
              units = floor(units)
            else
              units = units - 1
            end
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
        «renew»
        elseif longest == 0 and block == 0 then
          allowed = 1
        end
        if charged > 0 then
          taken, write = charged, true
          if verb == 'a' and longest > 0 then
            «overdraw»
          else
            local cost = charged
            «charge»
          end
        end
        if final and allowed == 0 and block == 0 and (verb == 'a' or verb == 'p') then
          «strike»
        end
      until final and not write and verb ~= 'p'
      outcome = '2' .. pack('<dddd', allowed, taken, block, delay)
    end
    «kept»
    «report»

    if write then
      longest = 0
      if blocked_until > now then longest = blocked_until - now end
      «longest»
      longest = longest + keep
      -- A row that is never clear is kept for a century.
      if longest > 3155760000000 then longest = 3155760000000 end
      if longest == 0 and «alone»«others clear» then
        call('DEL', key)
      else
        local lasts = clock + longest <= expires
        if not lasts then
          -- A row that is used again is kept half as long again: most writes then leave the expiry as it is.
          if expires > 0 then longest = longest * 1.5 end
          expires = ceil(clock + longest)
        end
        «save»
      end
    end
  end
  if failure then
    failed = failed or {}
    failed[#failed + 1], failed[#failed + 2] = j, failure
  else
    out[size + 1], out[size + 2], size = outcome, report, size + 2
  end
end

local reply = table.concat(out)
if hex then
  reply = string.gsub(reply, '.', function(c) return string.format('%02x', string.byte(c)) end)
end
if failed then return { reply, unpack(failed) } end
return reply
--- renew
-- Its holder runs, whether or not there is room: counted, it keeps others out.
elseif verb == 'n' then
  local full = block > 0
  «full»
  if not full then allowed = 1 end
  «hold»
  taken, write = amount, true
--- split
-- Of a value: the sections of other versions that have not expired, and the latest expiry of them. A value without a frame is
-- the row of another version: its mark and then the same bytes as in a section.
local at = 19
if sub(value, 1, 2) ~= '!!' or #value < 18 then
  value, at = sub(value, 1, 3) .. pack('<d', #value - 3) .. sub(value, 4), 1
end
while at + 18 <= #value do
  local version, bytes, expiry = unpack_struct('<c3dd', value, at)
  local stop = at + 10 + bytes
  if not (bytes >= 8 and stop <= #value) then break end
  if version ~= mark and expiry > clock and expiry < clock + 1e13 then
    others = others .. sub(value, at, stop)
    kept_until = max(kept_until, expiry)
  end
  at = stop + 1
end
--- convert
-- From here on for each policy that inherits. Mirrors inherit.ts: cells signed with other numbers become ours.
if «is other» then
  local cost = 0
  «settle»
  «keep»
  «signature»
end
--- additive
«spent» = «spent» * «unit» / «was unit»
--- proportional
«spent» = «spent» * «full» / «was full»
--- as-is
«spent» = max(0, «full» - («was full» - «spent») * «unit» / «was unit»)
--- as-is of several
«look»
local spent = «full» - «free» * «unit»
local target = max(0, «full» - («was full» - spent) * «unit» / «was unit»)
if spent > 0 then
  «to target»
else
  «spent» = target
  «round»
end
--- to target
«spent» = «spent» * target / spent
--- round
local whole = floor(«spent» + 0.5)
if «spent» - whole < 1e-9 and whole - «spent» < 1e-9 then «spent» = whole end
--- sign
«signature»
--- fresh
if «until» <= now then «own» = «zeros» end
--- kept
if write and now + «clear» > «until» then «until» = now + «clear» end
--- longest
if «until» - now > longest then longest = «until» - now end
