-- Mirrors policy/inherit.ts, which converts cells that were written under different limits. After the cells, the row has a
-- signature per policy: the numbers under which the policy's cells were written, or zeros if they were not written yet.
local NEAR = 1e-9

local function is_own(policy)
  local signed = policy.signed
  if inherit == 'additive' then return signed.unit == 0 or signed.unit == policy.unit end
  return signed.full == 0 or (signed.full == policy.full and signed.unit == policy.unit)
end

local function is_any_signed()
  for _, slot in ipairs(slots) do
    for _, name in ipairs(slot.signature) do
      if slot.signed[name] ~= 0 then return true end
    end
  end
  return false
end

local function sign_policy(policy)
  policy.signed.unit = policy.unit
  if inherit ~= 'additive' then policy.signed.full = policy.full end
end

local function rounded(spent)
  local whole = floor(spent + 0.5)
  if spent - whole < NEAR and whole - spent < NEAR then return whole end
  return spent
end

local function scale(policy, to, from)
  for _, name in ipairs(policy.spent) do policy.row[name] = rounded(policy.row[name] * to / from) end
end

-- Keeps the number of units that were left, but at most the full limit.
local function keep_left(policy)
  local row, signed, full, unit = policy.row, policy.signed, policy.full, policy.unit
  local first, is_single = policy.spent[1], #policy.spent == 1
  local spent
  if is_single then
    spent = row[first]
  else
    spent = full - policy.algorithm.available(policy.params, row, now) * unit
  end
  local target = max(0, full - (signed.full - spent) * unit / signed.unit)
  if is_single or not (spent > 0) then row[first] = rounded(target) else scale(policy, target, spent) end
end

-- Changes the row into one that this plan could have written.
local function convert()
  for _, policy in ipairs(policies) do
    local signed = policy.signed
    if #policy.signature > 0 then
      if inherit == 'as-is' and signed.kept_until <= now then
        for _, name in ipairs(policy.cells) do policy.row[name] = 0 end
        for _, name in ipairs(policy.signature) do signed[name] = 0 end
      end
      if not is_own(policy) then
        policy.algorithm.take(policy.params, policy.row, now, 0)
        if inherit == 'additive' then
          scale(policy, policy.unit, signed.unit)
        elseif inherit == 'proportional' then
          scale(policy, policy.full, signed.full)
        else
          keep_left(policy)
        end
        sign_policy(policy)
      end
    end
  end
end

-- After a change, records the numbers under which units were charged and, for 'as-is', until when these numbers are valid.
local function sign(is_charged)
  for _, policy in ipairs(policies) do
    local signed = policy.signed
    if #policy.signature > 0 then
      if is_charged then sign_policy(policy) end
      if inherit == 'as-is' then
        local clear = policy.algorithm.clear_in(policy.params, policy.row, now)
        signed.kept_until = max(signed.kept_until, now + clear)
      end
    end
  end
end

-- How much longer the row must be kept for any of the plans that wrote it.
local function kept_for()
  local longest = 0
  if inherit == 'as-is' then
    for _, slot in ipairs(slots) do
      if #slot.signature > 0 then longest = max(longest, slot.signed.kept_until - now) end
    end
  end
  return longest
end
